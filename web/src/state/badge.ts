/** The number of open questions in the tab's title and icon. */

export function showCount(count: number, live: boolean): void {
  document.title = `${count > 0 ? `(${count > 999 ? "999+" : count}) ` : ""}askd${live ? "" : " · offline"}`;
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (!icon) return;
  icon.type = count > 0 ? "image/png" : "image/svg+xml";
  icon.href = count > 0 ? drawn(count) : "/icon.svg";
  void (count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.())?.catch(() => undefined);
}

function drawn(count: number): string {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const pen = canvas.getContext("2d");
  if (!pen) return "/icon.svg";
  pen.fillStyle = "#c2410c";
  pen.beginPath();
  pen.roundRect(0, 0, 64, 64, 18);
  pen.fill();
  pen.fillStyle = "#fff";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const text = count > 99 ? "99+" : String(count);
  pen.font = `bold ${text.length > 2 ? 28 : 40}px system-ui, sans-serif`;
  pen.fillText(text, 32, 35);
  return canvas.toDataURL("image/png");
}
