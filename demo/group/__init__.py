"""The broker (``cluster``), member processes (``fleet``) and event logs (``logs``)."""
