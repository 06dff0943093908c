-- adds: the buyers who are forgotten
CREATE TABLE forgotten (
    name TEXT    NOT NULL PRIMARY KEY,
    done INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
