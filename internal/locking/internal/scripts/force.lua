-- force frees a mutex, whoever holds it, and passes it on.
--
-- KEYS  1 state, 2 queue
-- ARGV  1 for how long a free lock is reserved for the process that is woken, in ms
-- Returns 1 when it was held, else 0.
local call = redis.call

-- include wake.lua

if not call('HGET', KEYS[1], 'token') then return 0 end
call('DEL', KEYS[1])
wake(KEYS[1], KEYS[2], ARGV[1])
return 1
