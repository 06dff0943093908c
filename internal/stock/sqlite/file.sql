-- The file and its transactions.

-- name: touch
-- It writes a number into the file that is never read. SQLite writes it even if it is the same, and its commit needs space on the
-- disk: a rollback would need none.
PRAGMA user_version = 0;

-- name: savepoint
SAVEPOINT one;

-- name: roll_back
ROLLBACK TO one;

-- name: release
RELEASE one;
