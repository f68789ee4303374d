"""``kafka-assignors size``: how many members a group needs.

A *look* is one reading of the group's members, offsets and lag.

================  ===============================================  ===============
file              purpose                                          key names
================  ===============================================  ===============
``command.py``    options, output, exit codes                      ``command``
``sizes.py``      sizes from looks at a live group                 ``GroupSizes``
``load.py``       the load of a look                               ``group_load``
``recording.py``  the size at the end of a recording               ``recorded_size``
``report.py``     the size as JSON and as a table                  ``SizeReport``
``serve.py``      sizes over HTTP                                  ``serve``
================  ===============================================  ===============
"""
