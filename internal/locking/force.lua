-- force frees a mutex, whoever holds it, and passes it on.
--
-- KEYS  1 state, 2 queue
-- Returns 1 when it was held, else 0.
if not redis.call('HGET', KEYS[1], 'token') then return 0 end
redis.call('DEL', KEYS[1])
wake(KEYS[1], KEYS[2])
return 1
