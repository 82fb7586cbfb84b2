"""Mechanical Turk's protocol: signed JSON comes in, an operation is carried out in the store, JSON goes out.

`endpoint` takes a request, `signature` verifies it, `wire` checks it against botocore's description of the service,
`hits`, `qualifications` and `work` hold the operations.
"""
