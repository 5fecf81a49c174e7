"""Draw result objects. With `report`, the only room that knows Matplotlib and Vega-Lite."""
