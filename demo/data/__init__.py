"""The flights: ``events`` reads them, ``replay`` sends them, ``flight_samples`` samples them as offsets."""
