-- fifo_renew puts off the expiry of one reader that is still there, and never brings it nearer. Other readers have
-- their own. A writer is renewed by renew.
--
-- KEYS  1 readers, 2 tokens, see fifo.lua: no others, because while a slot moves a key that does not exist has the
--       script refused
-- ARGV  1 id of the holder, 2 lease in ms
-- Returns as renew.
local readers, tokens, id, lease = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local expiry = tonumber(call('ZSCORE', readers, id) or 0)
if expiry <= now then return 0 end
-- First, because a script that has written is given memory. Also when the moment of the expiry needs no change because
-- the clock has stepped back: a server that keeps durations, as miniredis does, lets the keys age all the same.
call('PEXPIRE', readers, lease, 'GT')
call('PEXPIRE', tokens, lease, 'GT')
if expiry < now + lease then call('ZADD', readers, string.format('%.0f', now + lease), id) end
return 1
