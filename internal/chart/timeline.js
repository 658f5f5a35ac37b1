"use strict";
const colours = {"": "#95a5a6", ok: "#27ae60", avoidable: "#e67e22", conflict: "#c0392b", "?": "#8e44ad"};
const names = {"": "did not race", ok: "raced, no conflict", avoidable: "conflict, but not by statistics", conflict: "conflict", "?": "not known"};
const byId = id => document.getElementById(id);
byId("title").textContent = data.title;
byId("note").textContent = data.note;
const chart = echarts.init(byId("chart"), null, {renderer: "canvas"});
const escape = s => echarts.format.encodeHTML(String(s));
const operations = [...new Set(data.commits.map(c => c.o || "(unknown)"))].sort();
const series = Object.keys(names).map(outcome => ({
  type: "scatter", name: names[outcome], symbolSize: 9, large: outcome === "", itemStyle: {color: colours[outcome]},
  data: data.commits.filter(c => c.r === outcome).map(c => ({value: [c.t, c.o || "(unknown)"], commit: c})),
})).filter(s => s.data.length > 0);
// A bar from when its read version was committed to its own commit: that is how long it was exposed.
const at = new Map(data.commits.map(c => [c.v, c.t]));
const raced = data.commits.filter(c => c.r !== "");
if (raced.length > 0) series.push({
  type: "lines", coordinateSystem: "cartesian2d", name: "since its read version", silent: true, lineStyle: {color: "#bdc3c7", width: 2},
  data: raced.map(c => ({coords: [[at.get(c.b) ?? c.t, c.o || "(unknown)"], [c.t, c.o || "(unknown)"]]})),
});
chart.setOption({
  animation: false,
  grid: {left: 160, right: 40, top: 40, bottom: 80},
  legend: {},
  tooltip: {confine: true, formatter: p => p.data.commit ? p.data.commit.d.map(escape).join("<br>") : ""},
  xAxis: {type: "time"},
  yAxis: {type: "category", data: operations},
  dataZoom: [{type: "inside"}, {type: "slider"}],
  series,
});
window.onresize = () => chart.resize();
document.body.dataset.drawn = "yes";
