-- Makes the table of what locks guard. In: nothing. fence and fence_owner are those of the newest lock that has written.
CREATE TABLE guarded_stock (
    name        text COLLATE "C" PRIMARY KEY,
    available   int NOT NULL,
    fence       bigint NOT NULL DEFAULT 0,
    fence_owner text NOT NULL DEFAULT ''
)
