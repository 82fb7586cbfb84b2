"""All that the local market remembers, and all of its SQL: one SQLite file for many threads.

with Store(folder / "market.db") as store:
    store.create_hit(...); store.accept(...); store.submit(...); store.approve(...)
"""
