-- How long a reservation of the SKU lasts at most, in microseconds; null: the service's limit.
ALTER TABLE skus ADD COLUMN IF NOT EXISTS max_reserve_us bigint CHECK (max_reserve_us > 0);
