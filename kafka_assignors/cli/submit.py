"""The command line as a file for ``spark-submit``, whose session the commands then run on.

spark-submit --master ... "$(kafka-assignors pipeline entry)" pipeline run GROUP ...
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # A script's own folder comes first on the path: here our commands would hide modules of the same names.
    here = Path(__file__).resolve().parent
    sys.path[:] = [place for place in sys.path if not place or Path(place).resolve() != here]
    from kafka_assignors.__main__ import main

    main()
