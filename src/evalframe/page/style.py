"""How a page looks: in light and in dark, on a telephone and on paper."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1d2129; --soft: #545b67; --paper: #ffffff; --raised: #f5f6f8; --line: #d5d9e0;
  --accent: #0b5394; --good: #0b5394; --good-paper: #e3eefa; --bad: #8a3b00; --bad-paper: #fdeee0;
  --missed: #7a1f5c; --missed-paper: #fae6f2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e7e9ed; --soft: #a9b0bc; --paper: #14171c; --raised: #1e2229; --line: #3a404b;
    --accent: #8ec3f5; --good: #a5d1fa; --good-paper: #16324d; --bad: #f5b98a;
    --bad-paper: #45290f; --missed: #f0a9d6; --missed-paper: #451c38;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
main, header { max-width: 76rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
main { padding-bottom: 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.25rem 0 .5rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }
h4 { font-size: .875rem; margin: 0; color: var(--soft); font-weight: 600; }
p { margin: .5rem 0; max-width: 70ch; overflow-wrap: anywhere; }
.lede, .note, .more { color: var(--soft); font-size: .875rem; }
.more { margin: .25rem 0 0; }
.scroll { overflow-x: auto; margin: .75rem 0 .25rem; border: 1px solid var(--line);
  border-radius: 6px; }
.scroll:focus-visible, figure:focus-visible, summary:focus-visible {
  outline: 3px solid var(--accent); outline-offset: 2px; }
.scroll { width: fit-content; max-width: 100%; }
table { border-collapse: collapse; font-size: .875rem; min-width: 16rem; }
caption { text-align: left; padding: .5rem .75rem; color: var(--soft); font-weight: 600; }
th, td { text-align: left; padding: .375rem .75rem; border-top: 1px solid var(--line);
  vertical-align: top; white-space: nowrap; }
thead th { background: var(--raised); font-weight: 600; }
tbody th { font-weight: 500; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.long { white-space: normal; min-width: 18rem; max-width: 42rem; overflow-wrap: anywhere; }
tr.below td { border-top: 0; padding-top: 0; white-space: normal; color: var(--soft); }
tr.below div { position: sticky; left: .5rem; width: fit-content; overflow-wrap: anywhere;
  max-width: min(70rem, 100vw - 5rem); }
.with-texts { width: 100%; }
.with-texts table { width: 100%; }
.with-texts .number { width: 1%; }
tr.below strong { color: var(--ink); }
.verdict { display: inline-block; padding: 0 .5rem; border-radius: 1rem; font-size: .8125rem;
  border: 1px solid transparent; }
.verdict.relevant { color: var(--good); background: var(--good-paper); border-color: var(--good);
  font-weight: 600; }
.verdict.not-relevant { color: var(--bad); background: var(--bad-paper); }
.verdict.missed { color: var(--missed); background: var(--missed-paper);
  border-color: var(--missed); font-weight: 600; }
.verdict.unjudged { color: var(--soft); border: 1px dashed var(--soft); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 32rem), 1fr));
  gap: 1rem; margin: .75rem 0; align-items: start; }
figure { margin: 0; padding: .5rem; overflow-x: auto; background: #ffffff;
  border: 1px solid var(--line); border-radius: 6px; }
figure svg { display: block; max-width: 100%; min-width: 30rem; height: auto; margin: 0 auto; }
@media (max-width: 40rem) {
  th, td { padding: .375rem .5rem; }
  .inside { padding: .25rem .5rem .5rem; }
}
@media (max-width: 33rem) {
  figure::after { content: "scroll sideways \\2192"; position: sticky; left: 0;
    color: #545b67; font-size: .75rem; }
}
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr));
  gap: .25rem 1.5rem; margin: .75rem 0; }
dl div { display: flex; justify-content: space-between; gap: 1rem;
  border-bottom: 1px solid var(--line); padding: .125rem 0; }
dt { color: var(--soft); }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; text-align: right; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; }
summary { cursor: pointer; padding: .5rem .75rem; overflow-wrap: anywhere; }
details[open] > summary { background: var(--raised); border-bottom: 1px solid var(--line);
  border-radius: 6px 6px 0 0; }
.inside { padding: .25rem .75rem .75rem; }
.block { margin: .75rem 0; }
.kept { white-space: pre-wrap; overflow-wrap: anywhere; margin: .125rem 0; }
ol { margin: .25rem 0; padding-left: 1.75rem; }
@media print { .scroll { overflow: visible; } th, td { white-space: normal; } }
"""
