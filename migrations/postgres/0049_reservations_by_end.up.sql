-- indexes: the live reservations of all SKUs by when they expire, for the sweep
CREATE INDEX CONCURRENTLY deductions_by_end ON deductions (expires_at) WHERE status = 'reserved';
