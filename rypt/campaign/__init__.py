"""A campaign: a folder with ``rypt.toml``, texts and a judgment database, and what one asks of it.

campaign = Campaign.open("campaign")     # rypt.campaign.folder
worthwhile(campaign, queries)            # rypt.campaign.asking
"""
