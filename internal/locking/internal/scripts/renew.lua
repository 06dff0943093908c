-- renew puts off the expiry of a lock that is still the holder's, and never brings it nearer.
--
-- KEYS  1 state
-- ARGV  1 id of the holder, 2 number (grows with every attempt of the process), 3 lease in ms,
--       4 token as the state has it (0 for any)
-- Returns 1 if it is still held, 0 if it is lost, 2 if it is outdated by a later attempt, which may have brought the
-- expiry nearer.
local held = redis.call('HMGET', KEYS[1], ARGV[1], 'seq', 'token')
if not held[1] or ARGV[4] ~= '0' and ARGV[4] ~= held[3] then return 0 end
if tonumber(ARGV[2]) < tonumber(held[2]) then return 2 end
redis.call('PEXPIRE', KEYS[1], ARGV[3], 'GT')
return 1
