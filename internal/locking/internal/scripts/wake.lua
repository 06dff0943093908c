-- wake reserves a free lock for some ms for the process at the head of its queue, and wakes it. The reservation keeps
-- the process that released the lock from overtaking those that wait. It is longer than a wake-up and the process's
-- answer take from far away, and than the pause of a process that polls; it ends by itself. A process that has said that
-- it listens, and that PUBLISH does not count, is gone: it is dropped, and the next one is taken. Of one that polls, or
-- where nobody may publish, the count proves nothing. Without the reservation (no memory) the lock is only less fair, so
-- that error is not raised.
local function wake(state, queue, reservation)
  while true do
    local head = redis.call('ZPOPMIN', queue)
    if not head[1] then return end
    if redis.pcall('PUBLISH', 'lk:wake:' .. head[1], state) ~= 0 or tonumber(head[2]) % 1 > 0 then
      redis.pcall('HSET', state, 'claim', head[1])
      redis.pcall('PEXPIRE', state, reservation)
      return
    end
  end
end
