-- What an amendment did; null: an older version wrote it. The return of all units at once has an empty ref.
ALTER TABLE amendments ADD COLUMN kind TEXT CHECK (kind IN ('extend', 'cancel', 'return', 'write_off'));
ALTER TABLE amendments ADD COLUMN reason TEXT;
