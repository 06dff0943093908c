-- wake reserves a free lock for the process at the head of its queue, and tells it. The reservation keeps whoever
-- released from overtaking those who wait. It is longer than a wake-up and its answer take from far away, and ends by
-- itself. A channel without a listener belongs to a process that is gone: it is dropped, and the next is taken. Where
-- PUBLISH does not count everybody who listens, nobody is dropped: then "counted" is false. Losing the reservation
-- (no memory) costs fairness only, so its error is not raised.
local counted = true
local claim_life = 500 -- ms

local function wake(state, queue)
  while true do
    local head = redis.call('ZPOPMIN', queue)[1]
    if not head then return end
    if redis.call('PUBLISH', 'lk:wake:' .. head, state) > 0 or not counted then
      redis.pcall('HSET', state, 'claim', head)
      redis.pcall('PEXPIRE', state, claim_life)
      return
    end
  end
end
