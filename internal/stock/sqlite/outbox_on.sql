-- Turn the outbox on: triggers that record what is done to deductions.
CREATE TRIGGER IF NOT EXISTS outbox_inserted AFTER INSERT ON deductions
BEGIN
    INSERT INTO outbox (sku_id, order_id, buyer_id, quantity, status, at)
    VALUES (NEW.sku_id, NEW.order_id, NEW.buyer_id, NEW.quantity, NEW.status, CAST(unixepoch('subsec') * 1000000 AS INTEGER));
END;

CREATE TRIGGER IF NOT EXISTS outbox_changed AFTER UPDATE ON deductions
WHEN NEW.status <> OLD.status OR NEW.quantity <> OLD.quantity
BEGIN
    INSERT INTO outbox (sku_id, order_id, buyer_id, quantity, status, at)
    VALUES (NEW.sku_id, NEW.order_id, NEW.buyer_id, NEW.quantity, NEW.status, CAST(unixepoch('subsec') * 1000000 AS INTEGER));
END;
