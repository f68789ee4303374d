"""How ``cooperative-lag-aware`` looks for even loads, and gets there with few moves.

Reading order: ``counts`` (the rule of counts), ``standing`` (who has what, while that changes), ``exchange``
and ``descent`` (exchange after exchange), ``redeal`` and ``exact`` (other ways), ``calm`` (the plan that
moves what must), ``lightest`` (how low the load can get), ``saving`` (with few moves).
"""
