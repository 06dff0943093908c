-- Notes each row of stock that is written under an older token than the one before. In: nothing.
CREATE TABLE chaos_fences (sku_id text, segment integer, before bigint, after bigint);
CREATE FUNCTION chaos_note_fence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO chaos_fences VALUES (NEW.sku_id, NEW.segment, OLD.fence, NEW.fence);
	RETURN NULL;
END $$;
CREATE TRIGGER chaos_fences AFTER UPDATE ON stock_segments FOR EACH ROW WHEN (NEW.fence < OLD.fence) EXECUTE FUNCTION chaos_note_fence();
