/** Spans and moments in words that are short enough for a list. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function span(millis: number): string {
  if (millis < 1000) return "now";
  if (millis < MINUTE) return `${Math.floor(millis / 1000)} s`;
  if (millis < HOUR) return `${Math.floor(millis / MINUTE)} min`;
  if (millis < DAY) {
    const minutes = Math.floor((millis % HOUR) / MINUTE);
    return minutes === 0 ? `${Math.floor(millis / HOUR)} h` : `${Math.floor(millis / HOUR)} h ${minutes} min`;
  }
  const days = Math.floor(millis / DAY);
  return days === 1 ? "1 day" : `${days} days`;
}

export function since(moment: string, now: number): string {
  return span(Math.max(0, now - Date.parse(moment)));
}

export function between(from: string, to: string): string {
  const millis = Math.max(0, Date.parse(to) - Date.parse(from));
  return millis < 1000 ? `${millis} ms` : span(millis);
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const CALENDAR = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** The time of day, with the date where it is another day. */
export function moment(text: string, now = Date.now()): string {
  const date = new Date(text);
  return new Date(now).toDateString() === date.toDateString() ? CLOCK.format(date) : CALENDAR.format(date);
}

/** RFC 3339 to what `<input type="datetime-local">` holds, in the reader's own zone; seconds only where there are some. */
export function toLocalInput(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return "";
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * MINUTE);
  return shifted.toISOString().replace(/(:00)?\.000Z$|Z$/, "");
}
