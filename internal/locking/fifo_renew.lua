-- fifo_renew puts off the expiry of one hold that is still there under the same token, and never brings
-- it nearer. Other readers have their own.
--
-- KEYS  see fifo.lua; there is no tombstone
-- ARGV  1 side ('write', 'read'), 2 id of the holder, 3 token, 4 lease in ms
-- Returns 1 when it is still held, 0 when it is lost.
local side, id, token, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

if side == 'write' then
  local held = call('HMGET', state, 'token', id)
  if held[1] ~= token or not held[2] then return 0 end
  call('PEXPIRE', state, lease, 'GT')
  return 1
end
local expiry = tonumber(call('ZSCORE', readers, id) or 0)
if expiry <= now or string.match(call('HGET', counts, id) or '', '(%S*)$') ~= token then return 0 end
if expiry < now + lease then call('ZADD', readers, now + lease, id) end
-- Also where the moment of the expiry needs no change, since the clock has stepped back: a server that keeps lives
-- as durations, as miniredis does, lets the keys age all the same.
call('PEXPIRE', readers, lease, 'GT')
call('PEXPIRE', counts, lease, 'GT')
return 1
