"""The HTML reports of the demo and of back-tests: one file each that needs no network.

=============  ==================================================  ==========================================
file           purpose                                             key names
=============  ==================================================  ==========================================
``rows``       figures of a run, for terminal and page             ``Row``, ``in_seconds``
``palette``    colours and font of terminal and page               ``member_colour``, ``strategy_colour``
``drawing``    the look of all figures; imports plotly             ``figure``, ``bars``, ``mark``
``page``       renders a template and its figures as one page      ``html_page``, ``require_plotly``
``templates``  ``page.html``, which every report extends, and the  ``card``, ``figures_table``
               macros of ``parts.html``
=============  ==================================================  ==========================================
"""
