-- renew puts off the expiry of a lock that is still the holder's, and never brings it nearer.
--
-- KEYS  1 state
-- ARGV  1 id of the holder, 2 lease in ms
-- Returns 1 if it is still held, 0 if it is lost.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
return 1
