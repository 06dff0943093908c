-- How long a reservation of the SKU lasts at most, in microseconds; null: the service's limit.
ALTER TABLE skus ADD COLUMN max_reserve_us INTEGER CHECK (max_reserve_us > 0);
