-- adds: what the movements of a SKU add up to, until an instant
--
-- moved is the sum of the movements up to moved_until, and of no later ones; null: of none. A program of 0.1.0 adds movements and leaves these columns as
-- they are: so what is later is added to moved when it is read.
ALTER TABLE skus ADD COLUMN IF NOT EXISTS moved bigint NOT NULL DEFAULT 0;
ALTER TABLE skus ADD COLUMN IF NOT EXISTS moved_until timestamptz;
