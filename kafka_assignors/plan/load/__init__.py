"""``lag-aware`` (KIP-169), and the search of ``cooperative-lag-aware`` for even loads with few moves.

Reading order: ``counts`` (the rule of counts), ``working_plan`` (a plan under change), ``exchange`` and
``descent`` (lower the largest load by exchanges), ``redeal`` and ``exact`` (other searches), ``calm`` (the
plan with only the necessary moves), ``lightest`` (the lowest load), ``saving`` (that load with few moves),
``expected`` (loads with a forecast), ``skew`` (when a rebalance pays).
"""
