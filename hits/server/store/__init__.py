"""The data of the local market, and all of its SQL: one SQLite file for many threads.

    with Store(folder / "market.db") as store:
        hit = store.hits.create(properties, NewHit(question, lifetime=3600), now)
        assignment = store.work.accept(worker, hit.id, now)
        store.work.submit(assignment.id, worker, {"label_1": "YES"}, now)
        store.review.approve(assignment.id, None, now)

`base` opens the file and makes transactions, `schema` has the tables, `records` what rows become; each other module is
one part of a `Store`.
"""
