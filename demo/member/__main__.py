"""``python -m demo.member``; the demo starts it."""

from __future__ import annotations

from demo.member.start import main

if __name__ == "__main__":
    main()
