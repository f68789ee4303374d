"""The command line as a script for ``spark-submit``; commands then use its session.

spark-submit --master ... "$(kafka-assignors pipeline entry)" pipeline run GROUP ...
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts this folder first on the path, where its modules would hide others of the same name.
    here = Path(__file__).resolve().parent
    sys.path[:] = [folder for folder in sys.path if not folder or Path(folder).resolve() != here]
    from kafka_assignors.__main__ import main

    main()
