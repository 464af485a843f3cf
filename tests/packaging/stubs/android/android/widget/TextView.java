package android.widget;

public class TextView {
    public TextView(android.content.Context context) {
    }

    public final void setText(CharSequence text) {
    }
}
