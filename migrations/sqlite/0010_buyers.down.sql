-- Buyer limits are dropped too: without these rows, each buyer could take the whole limit again.
UPDATE skus SET per_buyer_limit = NULL WHERE per_buyer_limit IS NOT NULL;
DROP TABLE IF EXISTS buyers;
