-- Take one unit for an order, and append the order to the stream.
-- KEYS[1] the units left, KEYS[2] the stream; ARGV[1] the order id. Returns 1, or 0 where nothing is left.
if redis.call('DECR', KEYS[1]) < 0 then
    redis.call('INCR', KEYS[1])
    return 0
end
redis.call('XADD', KEYS[2], '*', 'order', ARGV[1])
return 1
