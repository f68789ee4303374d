"""The third scene: a stateful count fails over, once restored cold, once with standbys and warm-ups.

==============  ==========================================================  ===============================
file            purpose                                                     key names
==============  ==========================================================  ===============================
``acts``        what the two acts differ in, and what they have in common   ``Act``, ``acts``
``counting``    the application: counts and logbooks in a store             ``count_flight``, ``Counter``
``member``      a process that runs it, and logs what becomes of it         ``MemberConfig``
``flow``        what is sent: the flights to begin with, steady traffic     ``steady``, ``Ledger``
``watch``       what the group is like at the moment, by its logs           ``GroupWatch``
``stage``       members, traffic, view; conditions to wait for              ``FailoverStage``
``scene``       the course of it                                            ``perform``
``run``         on a topic of its own, and what is left of that             ``run_failover``
``timeline``    the logs as events, progress and copies                     ``Logs``, ``Event``
``measure``     what each event cost                                        ``measure_events``
``counts``      what was counted, read from the stores                      ``read_stores``
``from_topic``  what there is to count, by Spark                            ``count_with_spark``
``checks``      what must not be                                            ``failover_faults``
``results``     its part of results.json                                    ``FailoverResult``
``words``       that in plain words                                         ``verdict``
==============  ==========================================================  ===============================

``acts``, ``counting``, ``flow``, ``watch``, ``timeline``, ``measure``, ``checks``, ``results`` and ``words``
are pure.
"""
