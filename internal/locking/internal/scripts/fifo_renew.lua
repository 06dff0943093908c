-- fifo_renew puts off the expiry of one reader that is still there, and never brings it nearer. Other readers have
-- their own. A writer is renewed by renew.
--
-- KEYS  1 readers, 2 counts, see fifo.lua: no others, because while a slot moves a key that does not exist has the
--       script refused
-- ARGV  1 id of the holder, 2 number (grows with every attempt of the process), 3 lease in ms, 4 its token (0 for any)
-- Returns as renew.
local readers, counts, id, lease = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[3])
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local expiry = tonumber(call('ZSCORE', readers, id) or 0)
local seq, token = string.match(call('HGET', counts, id) or '', ' (.*) (.*)')
if expiry <= now or not seq or ARGV[4] ~= '0' and ARGV[4] ~= token then return 0 end
if tonumber(ARGV[2]) < tonumber(seq) then return 2 end
-- First, because a script that has written is given memory. Also when the moment of the expiry needs no change because
-- the clock has stepped back: a server that keeps durations, as miniredis does, lets the keys age all the same.
call('PEXPIRE', readers, lease, 'GT')
call('PEXPIRE', counts, lease, 'GT')
if expiry < now + lease then call('ZADD', readers, string.format('%.0f', now + lease), id) end
return 1
