-- force frees a mutex from the holder that its caller has seen, and passes it on.
--
-- KEYS  1 state, 2 queue
-- ARGV  1 for how long a free lock is reserved for the process that is woken, in ms, 2 the time after which nothing is
--       done, in ms of the server's clock, then the ids of the holders that were seen: one or none
-- Returns 1 when one of them held it, else 0.
--
-- Running it twice changes things once: the second run does not find the holder.
local call = redis.call

-- include wake.lua

local time = call('TIME')
if time[1] * 1000 + time[2] / 1000 > tonumber(ARGV[2]) then return 0 end
if not ARGV[3] or call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return 0 end
call('DEL', KEYS[1])
wake(KEYS[1], KEYS[2], ARGV[1])
return 1
