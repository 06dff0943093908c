-- What an amendment did; null: an older version wrote it. The return of all units at once has an empty ref.
ALTER TABLE amendments
    ADD COLUMN IF NOT EXISTS kind   text COLLATE "C" CHECK (kind IN ('extend', 'cancel', 'return', 'write_off')),
    ADD COLUMN IF NOT EXISTS reason text;
