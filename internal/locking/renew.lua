-- renew puts off the expiry of a lock that is still held under the same token, and never brings it nearer.
--
-- KEYS  1 state
-- ARGV  1 id of the holder, 2 token as the state has it, 3 lease in ms
-- Returns 1 when it is still held, 0 when it is lost.
local held = redis.call('HMGET', KEYS[1], ARGV[1], 'token')
if not held[1] or held[2] ~= ARGV[2] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[3], 'GT')
return 1
