-- mint returns a new token, as text: above the last one of the bucket, also when the clock of the server
-- has stepped back, and above those that a server has forgotten, because the time is. With it the tokens
-- after it are given out, up to as many as are wanted: their number follows the token after a space. They are those
-- that the time has left out since the last one, so that no number of grants outruns the time.
local function mint(clock, wanted)
  local time = call('TIME')
  local token = #time[2] == 6 and time[1] .. time[2] or time[1] .. string.format('%06d', time[2])
  local last = call('SET', clock, token, 'EX', '2592000', 'GET')
  if not last then return token end
  if (#last ~= #token or last >= token) and tonumber(last) >= tonumber(token) then
    token = string.format('%.0f', tonumber(last) + 1)
    call('SET', clock, token, 'EX', '2592000')
    return token
  end
  if wanted == '0' then return token end
  local spare = math.min(tonumber(wanted), tonumber(token) - tonumber(last) - 1)
  return string.format('%.0f', tonumber(token) - spare), string.format('%.0f', spare)
end
