-- adds: the buyers who are forgotten
--
-- name is a keyed hash, and the buyer_id wherever that of the buyer was; done: there is no other any more. One row is the hash of '', by which
-- keys are told apart.
CREATE TABLE IF NOT EXISTS forgotten (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    done boolean NOT NULL
);
