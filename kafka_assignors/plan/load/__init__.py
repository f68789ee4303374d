"""``lag-aware`` (KIP-169), and the search of ``cooperative-lag-aware`` for even loads with few moves.

Reading order: ``lag_aware`` (KIP-169), ``cooperative_lag_aware`` (the steps of the search), ``working_plan``
(a plan under change), ``counts`` (the rule of counts), ``exchange`` and ``descent`` (lower the largest load
by exchanges), ``redeal`` and ``exact`` (other searches), ``calm`` (the plan with only the necessary moves),
``lightest`` (the lowest load), ``saving`` (that load with few moves), ``expected`` (loads with a forecast),
``skew`` (when a rebalance pays).
"""
