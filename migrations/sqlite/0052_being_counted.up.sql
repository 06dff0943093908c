-- indexes: the SKUs whose earlier orders are being counted
CREATE INDEX skus_being_counted ON skus (sku_id) WHERE counting;
