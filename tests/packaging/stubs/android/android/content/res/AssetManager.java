package android.content.res;

public final class AssetManager {
    public java.io.InputStream open(String file) throws java.io.IOException {
        return null;
    }

    public AssetFileDescriptor openFd(String file) throws java.io.IOException {
        return null;
    }
}
