package android.content;

public class Context {
    public android.content.res.AssetManager getAssets() {
        return null;
    }
}
