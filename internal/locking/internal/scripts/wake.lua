-- wake reserves a free lock for some ms for the process at the head of its queue, and wakes it. The reservation keeps
-- the process that released the lock from overtaking those that wait. It is longer than a wake-up and the process's
-- answer take from far away, and ends by itself. If nobody listens to the channel, the process is gone: it is dropped,
-- and the next one is taken. If PUBLISH does not count everybody who listens, "counted" is false and nobody is dropped.
-- Without the reservation (no memory) the lock is only less fair, so that error is not raised.
local counted = true

local function wake(state, queue, reservation)
  while true do
    local head = redis.call('ZPOPMIN', queue)[1]
    if not head then return end
    if redis.call('PUBLISH', 'lk:wake:' .. head, state) > 0 or not counted then
      redis.pcall('HSET', state, 'claim', head)
      redis.pcall('PEXPIRE', state, reservation)
      return
    end
  end
end
