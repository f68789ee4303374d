"""Building blocks of the HTML reports of the demo and of back-tests.  Pure: values in, text out.

===========  =================================================  ==========================================
file         purpose                                            key names
===========  =================================================  ==========================================
``rows``     figures of a run, for terminal and page            ``Row``, ``seconds``
``palette``  colours of members and strategies                  ``member_colour``, ``strategy_colour``
``drawing``  layout, axes and marks of all figures              ``Figure``, ``layout``, ``axis``, ``Mark``
``markup``   pieces of HTML, and their CSS                      ``figures_table``, ``card``, ``name``
``page``     one self-contained file with plotly.js inside      ``html_page``, ``require_plotly``
===========  =================================================  ==========================================
"""
