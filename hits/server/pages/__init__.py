"""The pages of the market: where people work (`worker`, `training`) and where the requester looks on (`dashboard`)."""
