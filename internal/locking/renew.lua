-- renew puts off the expiry of a lock that is still held under the same token, and never brings it nearer.
--
-- KEYS  1 state
-- ARGV  1 owner, 2 token, 3 lease in ms
-- Returns 1 when it is still held, 0 when it is lost.
local held = redis.call('HMGET', KEYS[1], 'token', ARGV[1])
if held[1] ~= ARGV[2] or not held[2] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[3], 'GT')
return 1
