-- mint returns a new token, as text. It is above the last one of the bucket, also if the server's clock has stepped
-- back, and above those that the server has forgotten, because it is not below the time. It also returns how many
-- tokens after it are reserved, up to as many as are wanted. Those are tokens that the time has left out since the last
-- one, so that no number of grants gets ahead of the time.
local function mint(clock, wanted)
  local time = call('TIME')
  local token = #time[2] == 6 and time[1] .. time[2] or time[1] .. string.format('%06d', time[2])
  local last = call('SET', clock, token, 'EX', '2592000', 'GET')
  if not last then return token end
  if (#last ~= #token or last >= token) and tonumber(last) >= tonumber(token) then
    last = tonumber(last)
    token = string.format('%.0f', last + (last < 2^53 and 1 or 2)) -- from there on, Lua only knows every second number
    call('SET', clock, token, 'EX', '2592000')
    return token
  end
  if wanted == '0' then return token end
  local spare = math.min(tonumber(wanted), tonumber(token) - tonumber(last) - 1)
  return string.format('%.0f', tonumber(token) - spare), string.format('%.0f', spare)
end
